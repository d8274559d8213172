import { useEffect, useState } from 'preact/hooks'
import type { JsonValue } from '../../domain/json.ts'
import { parseJson } from '../../domain/json.ts'
import { ask } from '../common/ask.ts'

/** The JSON at an address, asked for once there is one; `null` until it is there, and where there is none. */
export const useAnswer = (address: string | null, key: string | null, round: number): JsonValue => {
  const [answer, setAnswer] = useState<JsonValue>(null)
  useEffect(() => {
    if (address === null) return
    const stopped = new AbortController()
    ask({ address, key, signal: stopped.signal })
      .then((bytes) => parseJson(new TextDecoder().decode(bytes)))
      // Whatever stands in the way here does so for the listings, too, and is told there.
      .catch(() => null)
      .then((value) => stopped.signal.aborted || setAnswer(value))
    return () => stopped.abort()
  }, [address, key, round])
  return answer
}
