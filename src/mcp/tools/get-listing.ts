import { z } from 'zod'
import { at, listAt, parseJson, textAt } from '../../json/value.ts'
import { describeCompleteness, describeFound } from '../notices.ts'
import { COMPLETENESS, defineTool, listingItem, UNTRUSTED_TEXT } from '../tool.ts'

const MAX_NAME = 1000

export const getListingTool = defineTool({
  name: 'get_listing',
  title: 'Get a listing',
  description:
    'One listing by its id, of any status: the best copy of all sources. Call it before acting on a listing. ' +
    '`listing` is null only if every source answered that it has no such listing; if a source that may have it could ' +
    'not be read, the call is an error. If `complete` is false, a source that may have a better copy did not answer. ' +
    `_meta.disputed names better sources that have the publisher at another storefront. ${UNTRUSTED_TEXT}`,
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
  run: async (discovery, { listing_id: id, registry }, signal) => {
    const { item, complete, sources } = await discovery.find(id, registry ?? null, signal)
    const completeness = { complete, sources }
    return {
      notice:
        item === null
          ? `${describeCompleteness(completeness)} There is no such listing.`
          : describeFound(completeness, ...provenanceOf(item)),
      json: `${JSON.stringify(completeness).slice(0, -1)},"listing":${item ?? 'null'}}`,
    }
  },
})

function provenanceOf(item: string): [registry: string, disputed: readonly string[]] {
  const meta = at(parseJson(item), '_meta')
  return [textAt(meta, 'registry') ?? '', listAt(meta, 'disputed').map(String)]
}
