import { env } from 'node:process'
import type { Environment } from './settings.ts'

/** What the process was started with. The command line takes it from here, without loading the gateway's settings. */
export const environment: Environment = env
