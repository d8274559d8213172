import { useEffect, useState } from 'preact/hooks'
import type { JsonValue } from '../../../json/value.ts'
import { parseJson } from '../../../json/value.ts'
import { ask } from '../../common/request.ts'

/** `null` while loading, after a failure, and without an address. */
export function useAnswer(address: string | null, key: string | null, round: number): JsonValue {
  const [answer, setAnswer] = useState<JsonValue>(null)
  useEffect(() => {
    if (address === null) return
    const stopped = new AbortController()
    ask({ address, key, signal: stopped.signal })
      .then((bytes) => parseJson(new TextDecoder().decode(bytes)))
      // The listings fail for the same reason, and show it.
      .catch(() => null)
      .then((value) => stopped.signal.aborted || setAnswer(value))
    return () => stopped.abort()
  }, [address, key, round])
  return answer
}
