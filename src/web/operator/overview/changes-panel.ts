import { describeReason } from '../../../wire/describe-missing.ts'
import type { FleetJson } from '../../../wire/fleet.ts'
import { html } from '../../html.ts'
import { BREAKER_WORDS, STATE_WORDS } from '../sources/words.ts'

const SHOWN = 30

export function ChangesPanel({ fleet: { changes, replicas } }: { fleet: FleetJson }) {
  return html`<section id="changes" aria-labelledby="changes-title">
    <h2 id="changes-title">Changes of state</h2>
    <div class="changes" role="log" aria-live="polite" aria-label="Latest changes" tabindex="0"><ol>
      ${changes.slice(0, SHOWN).map((change) => {
        const { at, replica, registry, part, from, to, reason } = change
        return html`<li key=${[at, replica, registry, part].join(' ')}>
          <time datetime=${at} title=${at}>${new Date(at).toLocaleTimeString([], { hourCycle: 'h23' })}</time>${' '}<b>${registry}</b>: ${wordsOf(part, from)} → ${wordsOf(part, to)}${
            reason !== null && `, it ${describeReason(reason)}`
          }
          ${replicas.length > 1 && html` <span class="hint">seen by ${replica}</span>`}
        </li>`
      })}
    </ol></div>
    ${changes.length === 0 && html`<p class="hint">None since the start.</p>`}
  </section>`
}

const wordsOf = (part: 'state' | 'breaker', value: string): string =>
  part === 'state' ? (STATE_WORDS[value] ?? value) : `calls ${BREAKER_WORDS[value] ?? value}`
