import type { TokenTable } from '../../../domain/price/token.ts'
import { untrustedText } from '../../common/untrusted-text.ts'
import { html } from '../../html.ts'
import { filterLabel, formatMember, inputUnit } from '../members.ts'
import { type Navigation, ViewLink } from '../navigation.ts'
import { PriceLines } from '../payments.ts'
import type { NearMiss } from '../state/hints.ts'

type NearMissesProps = { misses: readonly NearMiss[]; tokens: TokenTable; navigation: Navigation }

/** In place of an empty page: the closest listings, each with the one thing that differs in bold. */
export const NearMisses = ({ misses, tokens, navigation }: NearMissesProps) =>
  misses.length > 0 &&
  html`<section class="near stack" aria-labelledby="near">
    <h3 id="near">Closest</h3>
    <ul class="columns">
      ${misses.slice(0, MAX_MISSES).map(
        ({ filter, has, row }) =>
          html`<li class="box">
            <${ViewLink} ...${{ navigation, change: { open: row } }} class="open"><bdi>${untrustedText(row.offer)}</bdi><//>
            <span class="hint"> ${untrustedText(row.region ?? '')}</span>
            <p>${filterLabel(filter)}: <strong>${hasWords(filter, has)}</strong></p>
            <${PriceLines} ...${{ row, tokens }} isShort />
          </li>`,
      )}
    </ul>
  </section>`

const MAX_MISSES = 3

function hasWords(filter: string, has: string): string {
  if (has === '') return 'not stated'
  const unit = inputUnit(filter)
  return untrustedText(`${formatMember(filter, has)}${unit === null ? '' : ` ${unit}`}`)
}
