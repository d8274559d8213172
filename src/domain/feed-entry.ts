/** An entry of the log of changes: a copy of a listing in a source that is new, has changed, or is gone. */
export type FeedEntry = {
  /** Counts from 1 on. */
  position: number
  /** ms since the Unix epoch, by the store's clock. */
  at: number
  /** Name of the source. */
  source: string
  /** Of the listing; `WHOLE_SOURCE` for all of the source. */
  key: string
  listingId: string
  /** Of that moment; `null` where it is not known. */
  publisher: string | null
  /** Fingerprint of the copy in the source; `GONE` where the source has it no more, `PUSHED_OUT` where that is not known. */
  state: string
}

/** Of an entry that says: what the source had before is not known, so earlier positions are of no use to its readers. */
export const WHOLE_SOURCE = ''
export const GONE = ''
/** Newer listings took its place in a source that is held in part. */
export const PUSHED_OUT = 'pushed out'
/** In place of a source: of the entry that a process appends before any other, whose key is random. */
export const PROCESS_START = ''
