import type { Lifetime } from '../domain/freshness.ts'

/** A value, and how long it is good for what. */
export type Kept<Value> = { value: Value; lifetime: Lifetime }

/**
 * Values by group and key, for as long as there is room: anything may be gone at any time. `test/cache/contract.ts`
 * is run by every implementation.
 */
export interface Cache<Value> {
  /** What was set last under that key; never what is past its `deleteAt` or was dropped since. */
  get(group: string, key: string): Promise<Kept<Value> | null>
  /** Keeps it until `deleteAt` at most. In this process a `get` that begins after it finds it. */
  set(group: string, key: string, kept: Kept<Value>): Promise<void>
  /** Forgets the whole group. In this process a `get` that begins after it finds nothing older. */
  drop(group: string): Promise<void>
  /** Memory of this process that the group takes up, as estimated. */
  bytes(group: string): number
}
