"""Reports as documents: blocks of text, tables and drawings, rendered as HTML, Markdown or terminal text.

What a result says in blocks stands beside the result (`verify.verdict.verification_document` and its like); here is
only how it looks. Every text passes `printable` and is escaped, since names, events and messages are whatever a subject
wrote.
"""
