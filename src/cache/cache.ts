import type { Lifetime } from '../domain/freshness.ts'

/** A value, and how long it is good for what. */
export type Kept<Value> = { value: Value; lifetime: Lifetime }

/**
 * Values by group and key, for as long as there is room: anything may be gone at any time, and what is away has
 * nothing. Nothing here rejects. `test/cache/contract.ts` is run by every implementation.
 */
export interface Cache<Value> {
  /** What this process has at hand: never what is past its `deleteAt` or was dropped here. */
  get(group: string, key: string): Promise<Kept<Value> | null>
  /** The same, but asks those that it is shared with: the last that any of them has set. */
  lookUp(group: string, key: string): Promise<Kept<Value> | null>
  /** Keeps it until `deleteAt` at most. A `get` of this process that begins after the call finds it. */
  set(group: string, key: string, kept: Kept<Value>): Promise<void>
  /** Forgets the whole group. A `get` of this process that begins after the call finds nothing older. */
  drop(group: string): Promise<void>
  /**
   * The right to make that value, so that only one of those that share it does, for `ms` at most. What is called to
   * give it back; `null` where another has it.
   */
  claim(group: string, key: string, ms: number): Promise<(() => void) | null>
  /** Memory of this process that the group takes up, as estimated. */
  bytes(group: string): number
}
