"""Write a page that replays exploration: one HTML file to look at, to mail, and to put on the web.

`data` collects the contents of the page, `beliefs` and `methods` the estimates and action values at every time. `page`
combines them with the files in `static`: JavaScript modules, a style sheet and a template.
"""

from berlyne.watch.data import page_data
from berlyne.watch.page import page_template, render_page, script_safe_json, watch

__all__ = ["page_data", "page_template", "render_page", "script_safe_json", "watch"]
