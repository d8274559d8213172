import { serveTasks } from '../worker-pool.ts'
import { recoverAddress } from './recover-address.ts'
import type { Signature } from './verify-claim.ts'

export type RecoverRequest = { message: string; signature: Signature }

serveTasks(({ message, signature }: RecoverRequest) => recoverAddress(message, signature))
