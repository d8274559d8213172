import type { Micros } from './timestamp.ts'

/** A seller as a Registry knows her: the wallet that signed, and where she trades (`protocol.md` 1.2, 1.10). */
export type Publisher = {
  publisherId: number
  scheme: string
  /** For scheme `eip191`: the signing address, lower-cased. */
  identifier: string
  storefrontUrl: string | null
  createdAt: Micros
  updatedAt: Micros
}
