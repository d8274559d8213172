// The other half of the board.
import './board/gaps.ts'
import './board/places.ts'
import './board/meanwhile.ts'
import './board/accessibility.ts'
