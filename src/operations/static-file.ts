import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** A file that is the same for everybody while the process runs. It is compressed once, and clients may cache it. */
export interface StaticFile {
  contentType: string;
  body: Buffer;
  /** The compressed forms; `null` if not smaller. */
  brotli: Buffer | null;
  gzip: Buffer | null;
  /** Shared by all forms of the body, and therefore weak (RFC 9110, 8.8.1). */
  etag: string;
  cacheControl: string;
}

/** Clients ask each time whether the file has changed; the answer is usually a 304 without body. */
const ASK_EACH_TIME = 'no-cache';
const FOR_EVER = 'public, max-age=31536000, immutable';

/** @param options.immutable whether its name changes with its content */
export const staticFile = (
  body: Buffer,
  { immutable, ...file }: Pick<StaticFile, 'contentType' | 'brotli' | 'gzip'> & { immutable: boolean },
): StaticFile => ({
  ...file,
  body,
  etag: `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
  cacheControl: immutable ? FOR_EVER : ASK_EACH_TIME,
});

/** Higher levels take ten times as long for 8 % fewer bytes. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

export async function jsonFile(json: string): Promise<StaticFile> {
  const body = Buffer.from(json);
  const [brotli, gzipped] = await Promise.all([promisify(brotliCompress)(body, BROTLI), promisify(gzip)(body)]);
  return staticFile(body, { contentType: 'application/json', brotli, gzip: gzipped, immutable: false });
}
