import { z } from 'zod'
import { listingSchema, mergedListingSchema } from './listing.ts'
import { sourceNoteSchema, sourcesCountedSchema } from './source.ts'

const ofListing = {
  key: z.string().describe('Names the listing, whatever its source; opaque'),
  listing_id: z.string(),
  publisher: z.string().nullable().describe('Signing address, where it is known'),
}

const listingChangeSchema = z
  .object({
    type: z.literal('listing'),
    ...ofListing,
    listing: z.union([mergedListingSchema, listingSchema]).describe('As `GET /listings` shows it now'),
  })
  .meta({ id: 'ListingChange', description: 'A listing that is new or has changed, and matches the query' })

const removedChangeSchema = z
  .object({
    type: z.literal('removed'),
    ...ofListing,
    unchecked: z
      .array(z.string())
      .optional()
      .describe('Sources that are not followed, so that one of them may have the listing; absent for none'),
  })
  .meta({ id: 'RemovedChange', description: 'A listing that is not in the answer any more' })

const sourceChangeSchema = z
  .object({ type: z.literal('source'), source: sourceNoteSchema })
  .meta({ id: 'SourceChange', description: 'Another state of a source; its listings stay. Of streams only' })

const changeSchema = z
  .discriminatedUnion('type', [listingChangeSchema, removedChangeSchema, sourceChangeSchema])
  .meta({ id: 'Change' })

export const changesSchema = z
  .object({
    changes: z.array(changeSchema),
    position: z.string().describe('Behind these changes: the next `since`'),
    more: z.boolean().describe('Whether there are further changes already'),
    complete: z.boolean().describe('Every visible source answers, and its changes are followed'),
    sources: z.array(sourceNoteSchema),
    sources_counted: sourcesCountedSchema,
  })
  .meta({ id: 'Changes' })

export type ChangeJson = z.infer<typeof changeSchema>
export type ChangesJson = z.infer<typeof changesSchema>
