// One file, so that one Chromium serves them all.
import './board/browsing.ts'
import './board/meaning.ts'
import './board/prices.ts'
import './board/gaps.ts'
import './board/places.ts'
import './board/meanwhile.ts'
import './board/accessibility.ts'
import './board/strangers.ts'
