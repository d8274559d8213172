import type { Micros } from './timestamp.ts'

export type Publisher = {
  publisherId: number
  scheme: string
  /** For scheme `eip191`: the signing address, lower-cased. */
  identifier: string
  storefrontUrl: string | null
  createdAt: Micros
  updatedAt: Micros
}
