/** The own Registry: it follows a changelog, which is ahead of the log of changes. */
export type FollowedRegistry = {
  name: string
  /** Of the changelog. */
  position: () => string
  /** Resolves when every change of the store before this call is in memory. */
  catchUp: () => Promise<void>
  /** Ids that have changed since a position of the changelog; `lost` where that is not known, or not of which publisher. */
  changedSince: (position: string) => Promise<readonly string[] | 'lost'>
}
