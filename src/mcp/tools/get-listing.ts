import { z } from 'zod'
import { idsBeginning, MIN_BEGINNING } from '../../gateway/pages/ids-beginning.ts'
import { renderItem } from '../../gateway/pages/render.ts'
import { sourceMembers } from '../../gateway/source-report.ts'
import { parseObject } from '../../json/value.ts'
import { describePrice } from '../listing-line.ts'
import { describeCompleteness, describeListing } from '../notices.ts'
import { quoted } from '../quoted.ts'
import { defineTool } from '../tool.ts'

const MAX_NAME = 1000

export const getListingTool = defineTool({
  name: 'get_listing',
  description:
    `The exact JSON of one listing of any status by its id, or of an open one by the beginning of its id (${MIN_BEGINNING} characters ` +
    'or more): the best copy of all sources. "No such listing" is certain; where a ' +
    'source that may have it could not be read, the call is an error. Rates are in base units of the token.',
  input: {
    listing_id: z.string().min(1).max(MAX_NAME),
    registry: z.string().min(1).max(MAX_NAME).optional().describe('Only this source'),
  },
  run: async (market, { listing_id: id, registry }, request) => {
    const exact = await market.find(id, registry ?? null, request)
    const beginning = id.replace(/…$/, '')
    const ids = exact.merged === null ? await idsBeginning(market, beginning, request, 'open') : []
    const [only] = ids.length === 1 ? ids : []
    const { merged, complete, ...reports } =
      only === undefined ? exact : await market.find(only, registry ?? null, request)
    const completeness = { complete, ...reports }
    if (merged === null) {
      const [words, lines] =
        ids.length < 2
          ? [`There is no such listing.${beginning.length < MIN_BEGINNING ? TOO_SHORT : ''}`, []]
          : [
              `${ids.length} open listings have an id that begins so; pass the whole id of one.`,
              describeIds(ids),
            ]
      return { notice: `${describeCompleteness(completeness)} ${words}`, lines }
    }
    const item = renderItem(merged).toString()
    const listing = parseObject(item)
    const meant = only === undefined ? '' : 'Exactly one open listing has an id that begins so. '
    return {
      notice: `${meant}${describeListing(completeness, listing)} Price: ${describePrice(listing)}.`,
      json: `${JSON.stringify({ complete, ...sourceMembers(reports) }).slice(0, -1)},"listing":${item}}`,
    }
  },
})

const TOO_SHORT = ` The beginning of an id has ${MIN_BEGINNING} characters or more: a shorter text is a whole id.`

const MAX_SHOWN = 5

/** Ids are a seller's texts. */
function describeIds(ids: readonly string[]): string[] {
  const shown = ids.slice(0, MAX_SHOWN).map((id) => quoted(id, MAX_NAME))
  return ids.length > MAX_SHOWN ? [...shown, `${ids.length - MAX_SHOWN} more`] : shown
}
