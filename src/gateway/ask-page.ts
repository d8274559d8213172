import type { Reader } from '../domain/api-key.ts'
import type { ListingQuery } from '../domain/query.ts'
import type { Asking, Federation, MergedAnswer } from './fan-out.ts'
import type { Paging } from './paging.ts'

/** One page of a merged sequence, and the cursor of what comes behind it; `undefined` where nothing does. */
export type MergedPage = MergedAnswer & { nextCursor: string | undefined }

/**
 * The page that a question asks for by its offset, or the one behind `cursor`. Refuses as `fanOut` and `Paging` do.
 * @param cursor `null` begins at the query's offset
 */
export const askPage = async (
  { federation, paging }: { federation: Federation; paging: Paging },
  query: ListingQuery,
  cursor: string | null,
  { reader, signal, asking }: { reader: Reader; signal: AbortSignal; asking: Asking },
): Promise<MergedPage> => {
  if (cursor !== null) return paging.pageBehind(cursor, query, { reader, signal, asking })
  const answer = await federation(query, reader, signal, asking)
  return { ...answer, nextCursor: paging.cursorBehind(answer, query, asking) }
}
