import { describeSuggestions, describeUnplaced } from '../../../wire/describe-hints.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { type Navigation, ViewLink } from '../navigation.ts'
import type { Hints, Suggestion } from '../state/hints.ts'
import { type Query, withValue, withValues } from '../view.ts'

type HintLinesProps = { hints: Hints; total: number; navigation: Navigation }

/** What the answer leaves out, and queries that find it. */
export function HintLines({ hints, total, navigation }: HintLinesProps) {
  const unplaced = describeUnplaced(hints.unplaced)
  if (unplaced.length === 0 && hints.suggestions.length === 0) return null
  const query = (suggestion: Suggestion) => suggestedQuery(navigation.view.query, suggestion)
  return html`<ul class="hints">
    ${hints.suggestions.map((suggestion) =>
      describeSuggestions(total, [suggestion]).map(
        (words) =>
          html`<li>${untrustedText(words, MAX_CHARS)} <${ViewLink} ...${{ navigation, change: { query: query(suggestion) } }}>Show these<//></li>`,
      ),
    )}
    ${unplaced.map((words) => html`<li class="hint">${words}</li>`)}
  </ul>`
}

const MAX_CHARS = 300

/** A model of the tables takes the place of its spelling. */
function suggestedQuery(query: Query, { query: suggested }: Suggestion): Query {
  const rest = Object.hasOwn(suggested, 'gpu') ? withValue(query, 'gpu_model', null) : query
  return withValues(rest, suggested)
}
