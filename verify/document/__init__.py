"""Reports on paper: what is said of a result as blocks, and how they become one page of HTML or Markdown.

What a result says in blocks stands beside the result (`verify.verdict.verification_document` and its like); here is
only how it looks. Every text passes `printable` and is escaped, since names, events and messages are whatever a subject
wrote.
"""
