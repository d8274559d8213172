import { workerData } from 'node:worker_threads'
import type { PackedListings } from '../domain/listing.ts'
import { buffersIn } from './buffers-in.ts'
import { type BlockSetting, buildBlock } from './build-block.ts'
import { serveTasks } from './worker-task.ts'

serveTasks((pages: readonly PackedListings[]) => buildBlock(workerData as BlockSetting, pages), buffersIn)
