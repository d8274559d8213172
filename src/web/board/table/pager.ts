import { html } from '../../html.ts'
import { MAX_ROWS, PAGE_ROWS } from '../data/page-loader.ts'
import type { Listings } from '../data/use-listings.ts'

type PagerProps = {
  listings: Listings
  /** From 0. */
  page: number
  onPage: (page: number) => void
}

export function Pager({ listings, page, onPage }: PagerProps) {
  const { rows, total, phase, until } = listings
  const end = Math.min(rows.length, (page + 1) * PAGE_ROWS)
  const isMore = rows.length > end || phase === 'more'
  const turn = async (): Promise<void> => {
    const held = await until((page + 2) * PAGE_ROWS)
    if (held > (page + 1) * PAGE_ROWS) onPage(page + 1)
  }
  return html`<nav class="pager" aria-label="Pages">
    <button type="button" disabled=${page === 0} onClick=${() => onPage(page - 1)}>Previous</button>
    <span>
      ${rows.length === 0 ? 'none' : `${number(page * PAGE_ROWS + 1)} to ${number(end)}`} of ${number(total ?? 0)}
    </span>
    <button type="button" disabled=${!isMore} onClick=${turn}>Next</button>
    ${
      phase === 'more' &&
      html`<button type="button" class="quiet" onClick=${() => until(MAX_ROWS)}>
      Read all${(total ?? 0) > MAX_ROWS ? ` (at most ${number(MAX_ROWS)})` : ''}
    </button>`
    }
    ${
      rows.length >= MAX_ROWS &&
      (total ?? 0) > MAX_ROWS &&
      html`<span class="hint">More than ${number(MAX_ROWS)} are not held: ask more narrowly.</span>`
    }
  </nav>`
}

const number = (value: number): string => value.toLocaleString('en')
