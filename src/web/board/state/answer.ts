import { useEffect, useState } from 'preact/hooks'
import { type JsonValue, parseJson } from '../../../json/value.ts'
import { request } from '../../common/request.ts'

/** While another answer is loading, and after a failure, `value` is the previous one of this key. */
export type Answer = { state: 'loading' | 'ready' | 'failed'; value: JsonValue }

type AnswerOptions = {
  key: string | null
  /** Another number requests it again. */
  refreshes: number
}

/** `null` addresses are not requested. */
export function useAnswer(address: string | null, { key, refreshes }: AnswerOptions): Answer {
  const [answer, setAnswer] = useState<Answer & { key: string | null }>({ ...LOADING, key })
  useEffect(() => {
    if (address === null) return
    const stopped = new AbortController()
    setAnswer((old) => (old.key === key ? { ...old, state: 'loading' } : { ...LOADING, key }))
    requestJson(address, key, stopped.signal).then(
      (value) => setAnswer({ state: 'ready', value, key }),
      () => stopped.signal.aborted || setAnswer((old) => ({ ...old, state: 'failed' })),
    )
    return () => stopped.abort()
  }, [address, key, refreshes])
  return answer
}

const LOADING: Answer = { state: 'loading', value: null }

/** Rejects as `request` does, and with a SyntaxError. */
export const requestJson = async (
  address: string,
  key: string | null,
  signal: AbortSignal,
): Promise<JsonValue> => parseJson(new TextDecoder().decode(await request({ address, key, signal })))
