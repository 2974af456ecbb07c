import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DATA_FOLDER } from './data-folder.ts';

const run = promisify(execFile);

/** Paths of PEM files. */
export interface Certificates {
  /** From an unknown authority. */
  authority: string;
  /** Signed by it, for 127.0.0.1 and localhost. */
  certificate: string;
  key: string;
  remove(): Promise<void>;
}

/** Creates an authority and a server's certificate with openssl. */
export async function makeCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(DATA_FOLDER, 'laurel-certificates-'));
  const at = (name: string): string => join(folder, name);
  const openssl = (args: string): Promise<unknown> => run('openssl', args.split(' '), { cwd: folder });
  const key = '-newkey rsa:2048 -nodes';
  await openssl(`req -x509 ${key} -days 2 -subj /CN=authority -keyout authority.key -out authority.pem`);
  await openssl(`req ${key} -subj /CN=redis -keyout server.key -out server.csr`);
  await writeFile(at('names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  const signer = '-CA authority.pem -CAkey authority.key -CAcreateserial';
  await openssl(`x509 -req -in server.csr ${signer} -days 2 -extfile names -out server.pem`);
  return {
    authority: at('authority.pem'),
    certificate: at('server.pem'),
    key: at('server.key'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
