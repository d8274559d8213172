import type { SourceNote } from './source.ts'

/**
 * Sources whose state has changed; at first those that are not loaded. What is named no more is loaded: a source that a gateway lacked,
 * or one of many of which there is nothing to say.
 * @param states by name, to be kept between the answers
 */
export function newStates<Note extends Pick<SourceNote, 'registry' | 'state' | 'reason'>>(
  sources: readonly Note[],
  states: Map<string, string>,
): (Note | { registry: string; state: 'loaded' })[] {
  const named = new Set(sources.map(({ registry }) => registry))
  const back = [...states.keys()].flatMap((registry) => {
    return named.has(registry) ? [] : [{ registry, state: 'loaded' } as const]
  })
  const changed = sources.filter(({ registry, state, reason }) => {
    const [before, now] = [states.get(registry), `${state} ${reason ?? ''}`]
    states.set(registry, now)
    return before === undefined ? state !== 'loaded' : before !== now
  })
  const isOther = ({ registry }: { registry: string }): boolean => states.get(registry) !== LOADED
  const returned = back.filter(isOther)
  for (const { registry } of back) states.delete(registry)
  return [...changed, ...returned]
}

const LOADED = 'loaded '
