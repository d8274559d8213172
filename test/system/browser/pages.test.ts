// One file, so that one Chromium serves them all.
import './operator.ts'
import './docs-page.ts'
import './page-loads.ts'
import './cross-origin.ts'
