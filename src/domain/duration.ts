/** `7 days`, of whole seconds. */
export function formatDuration(seconds: number): string {
  const [name, size] = DURATIONS.find(([, size]) => seconds >= size && seconds % size === 0) ?? ['second', 1]
  const count = seconds / size
  return `${count.toLocaleString('en')} ${name}${count === 1 ? '' : 's'}`
}

const DURATIONS: readonly (readonly [name: string, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]
