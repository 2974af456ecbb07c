/** The part of the library that is used; it has no types of its own. */
declare module 'http_ece' {
  import type { ECDH } from 'node:crypto';

  const ece: {
    encrypt(
      content: Buffer,
      parameters: { version: 'aes128gcm'; dh: Buffer; privateKey: ECDH; authSecret: Buffer },
    ): Buffer;
  };
  export default ece;
}
