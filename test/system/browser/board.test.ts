// One file, so that one Chromium serves them all; half of the board, so that another serves the other half meanwhile.
import './board/browsing.ts'
import './board/meaning.ts'
import './board/numbers.ts'
import './board/prices.ts'
import './board/strangers.ts'
