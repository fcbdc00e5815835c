"""A Sphinx extension that links names such as `hm.fit` in sentences to the reference.

Names in blocks of code are linked by sphinx-codeautolink.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

# A name, perhaps called: `hm.Persistent(hm.Gibbs(k), chains=n)` leads to Persistent.
NAME = re.compile(r"^(?:hm|harmonium)\.([A-Za-z_][\w.]*?)(?:\(.*\))?$", re.S)


class LinkedNames(SphinxPostTransform):
    """Makes inline code that names something of the reference a link to it."""

    default_priority = 5  # before references are resolved, so that what is a link already is known

    def run(self, **kwargs: Any) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            within = literal.parent
            is_linked = isinstance(within, nodes.reference | pending_xref | nodes.title)
            match = NAME.match(literal.astext())
            if match and not is_linked:
                self.link(literal, f"harmonium.{match[1]}")

    def link(self, literal: nodes.literal, name: str) -> None:
        """Replace inline code by a link, if the reference has the name."""
        objects = self.env.get_domain("py").objects
        known = objects.get(name)
        builder = self.app.builder
        if known is None or known.docname == self.env.docname:
            return
        link = make_refnode(
            builder, self.env.docname, known.docname, known.node_id, literal.deepcopy(), name
        )
        literal.replace_self(link)


def setup(app: Sphinx) -> dict:
    """Register the extension."""
    app.add_post_transform(LinkedNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
