import { html } from '../../html.ts'
import type { ListingRow } from '../state/listing-row.ts'
import type { News } from '../state/news.ts'

type NewsLineProps = { news: News; rows: readonly ListingRow[]; refresh: () => void }

/** `3 new, 1 gone`, with a button: no row moves by itself. */
export function NewsLine({ news: { listed, gone, isLost }, rows, refresh }: NewsLineProps) {
  const loaded = new Set(rows.map(({ id }) => id))
  const changed = [...listed].filter((id) => loaded.has(id)).length
  const counts = [
    [listed.size - changed, 'new'],
    [changed, 'changed'],
    [gone.size, 'gone'],
  ] as const
  const words = counts.flatMap(([count, word]) =>
    count === 0 ? [] : [`${count.toLocaleString('en')} ${word}`],
  )
  if (isLost) words.push('more may have changed')
  return html`<p class="news row" role="status">
    ${words.length > 0 && html`<strong>${words.join(', ')}</strong> <button type="button" onClick=${refresh}>Show</button>`}
  </p>`
}
