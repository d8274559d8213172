import { z } from 'zod'
import { renderItem } from '../../gateway/envelope.ts'
import { idsBeginning } from '../../gateway/ids-beginning.ts'
import { parseJson } from '../../json/value.ts'
import { describeCompleteness, describeListing } from '../notices.ts'
import { COMPLETENESS, defineTool, listingItem, UNTRUSTED_TEXT } from '../tool.ts'

const MAX_NAME = 1000

export const getListingTool = defineTool({
  name: 'get_listing',
  title: 'Get a listing',
  description:
    'One listing of any status by its id, or an open one by the beginning of its id (8 characters or more): the best copy of all sources. Call it before acting on a listing. ' +
    '`listing` is null only if every source answered that it has no such listing; if a source that may have it could ' +
    'not be read, the call is an error. If `complete` is false, a source that may have a better copy did not answer. ' +
    `_meta.age_seconds is the age of the copy. Better sources are named by _meta.unchecked where they could not be asked, ` +
    `by _meta.not_in where they have the publisher without the listing, and by _meta.disputed where they have the ` +
    `publisher at another storefront. ${UNTRUSTED_TEXT}`,
  input: {
    listing_id: z.string().min(1).max(MAX_NAME),
    registry: z
      .string()
      .min(1)
      .max(MAX_NAME)
      .optional()
      .describe('Only this source: a name from list_sources, or the _meta.registry of an item. Default: all'),
  },
  output: { ...COMPLETENESS, listing: listingItem.nullable() },
  run: async (market, { listing_id: id, registry }, request) => {
    const exact = await market.find(id, registry ?? null, request)
    const beginning = id.replace(/…$/, '')
    const ids = exact.merged === null ? await idsBeginning(market, beginning, request, 'open') : []
    const [only] = ids.length === 1 ? ids : []
    const { merged, complete, sources } =
      only === undefined ? exact : await market.find(only, registry ?? null, request)
    const item = merged === null ? null : renderItem(merged).toString()
    const completeness = { complete, sources }
    return {
      notice:
        item === null
          ? `${describeCompleteness(completeness)} There is no such listing.${describeIds(beginning, ids)}`
          : `${only === undefined ? '' : `${JSON.stringify(beginning)} begins the id ${JSON.stringify(only)}. `}${describeListing(completeness, parseJson(item))}`,
      json: `${JSON.stringify(completeness).slice(0, -1)},"listing":${item ?? 'null'}}`,
    }
  },
})

const MAX_SHOWN = 5

/** Ids are a seller's texts. */
function describeIds(beginning: string, ids: readonly string[]): string {
  if (ids.length < 2) return ''
  const shown = ids.slice(0, MAX_SHOWN).map((id) => JSON.stringify(id))
  return ` ${ids.length} ids begin with ${JSON.stringify(beginning)}: ${shown.join(', ')}${ids.length > MAX_SHOWN ? ', …' : ''}.`
}
