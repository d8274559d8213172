import { z } from 'zod'
import { plural } from '../../domain/plural.ts'
import type { Change } from '../../gateway/changes/change-of.ts'
import { renderItem } from '../../gateway/pages/render.ts'
import { parseObject } from '../../json/value.ts'
import { familiesOf, plainId, renderLines } from '../listing-line.ts'
import { describeCompleteness } from '../notices.ts'
import { defineTool, MARKET_INPUT, marketQuery } from '../tool.ts'

const MAX_CHANGES = 100

const { filters, price_token, price_max } = MARKET_INPUT

export const marketChangesTool = defineTool({
  name: 'market_changes',
  description:
    'Open listings that are new, changed or gone since a position, a line each, and the position to go on from. Without ' +
    'since: that of now. They are chosen as by search_listings, the same each time. INCOMPLETE: changes are missing.',
  input: {
    since: z.string().max(1000).optional(),
    filters,
    price_token,
    price_max,
  },
  run: async (market, { since = null, ...input }, request) => {
    const query = marketQuery(market, { ...input, status: 'open' })
    const following = await market.changes(query, since, request)
    const { changes, position, hasMore } = await following.read(following.position, MAX_CHANGES)
    const listed = changes.filter(({ kind }) => kind === 'listing').length
    const counts = `${listed} new or changed, ${changes.length - listed} gone`
    const notice = [
      describeCompleteness(following.sources()),
      since === null ? 'Changes are counted from now on.' : `${plural(changes.length, 'change')}: ${counts}.`,
      hasMore ? 'More have changed: call again.' : '',
    ]
    return {
      notice: notice.filter(Boolean).join(' '),
      lines: [`since: ${position}`, ...changes.map(renderChange)],
    }
  },
})

function renderChange(change: Change): string {
  if (change.kind === 'removed')
    return [
      'gone',
      plainId(change.listingId),
      ...change.unchecked.map((name) => `unchecked in ${name}`),
    ].join('|')
  const [line] = renderLines(familiesOf([parseObject(renderItem(change.merged).toString())]))
  return `listed|${line}`
}
