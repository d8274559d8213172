import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'

const { file, array }: { file: string; array: string } = workerData
const policy: { default?: unknown } = await import(pathToFileURL(file).href)
if (typeof policy.default !== 'function') throw new TypeError('it has no default export that is a function')
const result: unknown = await policy.default(JSON.parse(array))
parentPort?.postMessage(JSON.stringify(result) ?? 'null')
