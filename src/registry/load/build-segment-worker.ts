import { parentPort, workerData } from 'node:worker_threads'
import type { Row } from '../../store/rows.ts'
import { buffersIn, buildSegment, settingsInThread, type ThreadSettings } from './build-segment.ts'

const settings = settingsInThread(workerData as ThreadSettings)

/** Reports that it is ready, then answers the rows of each segment with the segment. An error ends the thread. */
parentPort!.on('message', (rows: readonly Row[]) => {
  const steps = buildSegment(settings, rows)
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done !== true) continue
    parentPort!.postMessage(step.value, buffersIn(step.value))
    return
  }
})

parentPort!.postMessage('ready')
