import { isUtf8 } from 'node:buffer';
import { AppError } from '../errors.ts';

/**
 * Collects a request body up to a limit. uWS invalidates a chunk when its callback returns, so chunks are copied. A body in one chunk, the
 * common case, becomes text without a copy.
 */
export class BodyReader {
  private readonly limitBytes: number;
  private chunks: Buffer[] | null = null;
  private received = 0;
  /** The whole body; `null` if it is not UTF-8. */
  private decoded: string | null = '';

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Whether the limit was exceeded. The body is then no longer kept. */
  get overflowed(): boolean {
    return this.received > this.limitBytes;
  }

  push(chunk: ArrayBuffer, isLast: boolean): void {
    this.received += chunk.byteLength;
    if (this.overflowed) this.chunks = null;
    else if (!isLast) (this.chunks ??= []).push(Buffer.from(chunk.slice(0)));
    else if (this.chunks === null) this.decode(Buffer.from(chunk));
    else {
      this.chunks.push(Buffer.from(chunk));
      this.decode(Buffer.concat(this.chunks));
      this.chunks = null;
    }
  }

  /** Returns the whole body. Throws 400 if it is not UTF-8. */
  text(): string {
    if (this.decoded === null) throw new AppError('malformed', 'The body is not valid UTF-8');
    return this.decoded;
  }

  private decode(bytes: Buffer): void {
    this.decoded = isUtf8(bytes) ? bytes.toString('utf8') : null;
  }
}
