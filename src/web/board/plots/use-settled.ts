import { useEffect, useState } from 'preact/hooks'

/** Delays a value that is expensive to draw. The first one passes at once. */
export function useSettled<Value extends { length: number }>(value: Value, ms: number): Value {
  const [settled, settle] = useState(value)
  const isFirst = settled.length === 0 || value.length < settled.length
  useEffect(() => {
    const timer = setTimeout(() => settle(value), isFirst ? 0 : ms)
    return () => clearTimeout(timer)
  }, [value, ms, isFirst])
  return settled
}
