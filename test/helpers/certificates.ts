import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Certificate } from './fake-registry.ts'

/*
 * Made by openssl, valid for a hundred years, for 127.0.0.1 and for nothing but tests: `ca.pem` (its key is thrown
 * away), `registry.pem` signed by it, and `stranger.pem`, with the same key and the same name, self-signed.
 */
const read = (name: string): Buffer => readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url))

const key = read('registry-key')

/** Accepted by clients that trust our authority. */
export const TRUSTED: Certificate = { cert: read('registry'), key }
/** A certificate that no client accepts. */
export const UNTRUSTED: Certificate = { cert: read('stranger'), key }

/** This process trusts our authority from now on. */
export const trustOurAuthority = (): void =>
  setDefaultCACertificates([...getCACertificates('default'), read('ca').toString()])
