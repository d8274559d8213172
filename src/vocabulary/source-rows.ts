/** What sources mean by exact texts. */
export type SourceRows<Meaning> = ReadonlyMap<string, ReadonlyMap<string, Meaning>>

/** What a source means by a text. Rows of `eu` count for `eu/curated` as well; those of the longer source win. */
export function meaningAt<Meaning>(rows: SourceRows<Meaning>, source: string, text: string): Meaning | null {
  if (rows.size === 0 || source.length > MAX_SOURCE_LENGTH) return null
  for (let end = source.length; end > 0; end = source.lastIndexOf('/', end - 1)) {
    const meaning = rows.get(source.slice(0, end))?.get(text)
    if (meaning !== undefined) return meaning
  }
  return null
}

/** No row has a longer one. */
const MAX_SOURCE_LENGTH = 200
