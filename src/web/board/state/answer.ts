import { useEffect, useState } from 'preact/hooks'
import { ProblemError } from '../../../client/problem-error.ts'
import { parseAnswer, request, toProblemError } from '../../common/gateway.ts'

export type Answers<T> = {
  state: 'loading' | 'ready' | 'failed'
  /** While others are loading, those to the previous addresses with this key. A failure leaves the previous answer. */
  byAddress: ReadonlyMap<string, T | ProblemError>
}

type AnswerOptions = {
  key: string | null
  /** Another number requests all again. */
  refreshes?: number
}

/** What `read` makes of the answer to each address. */
export function useAnswers<T>(
  addresses: readonly string[],
  read: (bytes: Uint8Array) => T,
  { key, refreshes }: AnswerOptions,
): Answers<T> {
  const [answers, setAnswers] = useState<Answers<T> & { key: string | null }>({ ...LOADING, key })
  useEffect(() => {
    if (addresses.length === 0) return
    const stopped = new AbortController()
    setAnswers((old) => (old.key === key ? { ...old, state: 'loading' } : { ...LOADING, key }))
    const answerTo = (address: string): Promise<T | ProblemError> =>
      request(address, key, { signal: stopped.signal }).then(read).catch(toProblemError)
    Promise.all(addresses.map(answerTo)).then((results) => {
      if (stopped.signal.aborted) return
      const state = results.some(isError) ? 'failed' : 'ready'
      setAnswers(({ byAddress: before }) => {
        const kept = (one: T | ProblemError, n: number) =>
          isError(one) ? (before.get(addresses[n]!) ?? one) : one
        return { state, key, byAddress: new Map(results.map((one, n) => [addresses[n]!, kept(one, n)])) }
      })
    })
    return () => stopped.abort()
  }, [addresses.join('\n'), key, refreshes])
  return answers
}

const LOADING: Answers<never> = { state: 'loading', byAddress: new Map() }

export const isError = (one: unknown): one is ProblemError => one instanceof ProblemError

export type Answer<T> = { state: Answers<T>['state']; value: T | null }

/** The answer to one address. `null` is not requested. */
export function useAnswer<T>(address: string | null, options: AnswerOptions): Answer<T> {
  const { state, byAddress } = useAnswers<T>(address === null ? [] : [address], parseAnswer, options)
  const value = byAddress.get(address ?? '')
  return { state, value: value === undefined || isError(value) ? null : value }
}
