"""Reports as documents: blocks of text, tables and drawings, rendered as HTML, Markdown or terminal text.

The content of a result's document is made beside the result (`verify.verdict.verification_document` and its like); this
package only renders it. Every text passes `printable` and is escaped, since names, events and messages may be any text
of a subject's.
"""
