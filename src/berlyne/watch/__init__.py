"""The page that replays exploration: one file to look at, to mail, and to put on the web.

`data` says what is shown, `beliefs` and `methods` what was thought at every time, `page` puts it together with what is
in `static`: plain modules of JavaScript, a style and a template.
"""

from berlyne.watch.data import page_data
from berlyne.watch.page import page_template, render_page, script_safe_json, watch

__all__ = ["page_data", "page_template", "render_page", "script_safe_json", "watch"]
