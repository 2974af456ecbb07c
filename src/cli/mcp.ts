import { setMaxListeners } from 'node:events';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Command } from 'commander';
import { addressOf, withAdminOptions, type AdminOptions } from './admin-api.ts';
import { CommandError, examples } from './command.ts';

/** JSON-RPC's code of an internal error. */
const INTERNAL_ERROR = -32_603;

/** Adds `laurel mcp`: the server at `/mcp` for assistants that start a command and speak to it on its standard input and output. */
export function addMcp(laurel: Command): void {
  withAdminOptions(
    laurel
      .command('mcp')
      .description(
        'let an assistant work with a running Laurel: the Model Context Protocol on standard input and output',
      )
      .addHelpText('after', examples('mcp', 'mcp --url http://localhost:8081 --key adm_….…')),
  ).action(async (options: AdminOptions) => passOn(options));
}

/** Passes messages between standard input and output and `/mcp`. An unanswered message gets an error. */
async function passOn({ url, key, tenant }: AdminOptions): Promise<void> {
  if (key === undefined || key === '') throw new CommandError('An admin key is required: set LAUREL_KEY or --key.');
  const [{ StdioServerTransport }, { StreamableHTTPClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/stdio.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  ]);
  const headers = { 'X-API-KEY': key, ...(tenant !== undefined && { 'Tenant-ID': tenant }) };
  // The key would be sent to wherever a redirect leads.
  const laurel = new StreamableHTTPClientTransport(addressOf(url, '/mcp'), {
    requestInit: { headers, redirect: 'error' },
    fetch: (address, init) => {
      // The transport has one signal for all requests, and Node would warn about the eleventh.
      if (init?.signal) setMaxListeners(0, init.signal);
      return fetch(address, init);
    },
  });
  const assistant = new StdioServerTransport();
  laurel.onmessage = (message: JSONRPCMessage) => {
    const version = 'result' in message ? message.result['protocolVersion'] : undefined;
    if (typeof version === 'string') laurel.setProtocolVersion(version);
    void assistant.send(message);
  };
  const underWay = new Set<Promise<void>>();
  assistant.onmessage = (message: JSONRPCMessage) => {
    const sent = laurel.send(message).catch((error: unknown) => {
      const text = `${url}/mcp: ${(error as Error).message}`;
      console.error(text);
      if ('method' in message && 'id' in message)
        void assistant.send({ jsonrpc: '2.0', id: message.id, error: { code: INTERNAL_ERROR, message: text } });
    });
    underWay.add(sent);
    void sent.finally(() => underWay.delete(sent));
  };
  await laurel.start();
  await assistant.start();
  await new Promise((ended) => process.stdin.once('end', ended));
  // What was asked is answered, even if nothing more will be.
  await Promise.all(underWay);
  await laurel.close();
}
