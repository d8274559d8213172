import { z } from 'zod'
import { describeCompleteness } from './notices.ts'
import { COMPLETENESS, defineTool, listing, SELLERS_WORDS } from './tool.ts'

const MAX_NAME = 1000

export const getListing = defineTool({
  name: 'get_listing',
  title: 'Get a listing',
  description:
    'One listing by its id, whatever its status, from the first source that has it. `listing` is null only where ' +
    'every source said that it has none; where one that might have it could not be asked, the call is an error that ' +
    'says so. `complete` is about the sources that were asked until it was found: where it is false, another may ' +
    `hold a copy that counts more. ${SELLERS_WORDS}`,
  input: {
    listing_id: z.string().min(1).max(MAX_NAME),
    registry: z
      .string()
      .min(1)
      .max(MAX_NAME)
      .optional()
      .describe('Only this source: a name of list_sources, or _meta.registry of an item. Default: all'),
  },
  output: { ...COMPLETENESS, listing: listing.nullable() },
  answer: async (discovery, { listing_id: id, registry }, signal) => {
    const { item, complete, sources } = await discovery.find(id, registry ?? null, signal)
    const completeness = { complete, sources }
    const what = item === null ? 'There is no such listing.' : 'The listing was found.'
    return {
      notice: `${describeCompleteness(completeness)} ${what}`,
      json: `${JSON.stringify(completeness).slice(0, -1)},"listing":${item ?? 'null'}}`,
    }
  },
})
