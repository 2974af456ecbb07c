// Starts the private servers and waits to be killed. Uses the built code, which `npm test` makes first.
import { readEnv } from '../../dist/src/settings/env.js';
import { startServers } from '../../dist/src/local/private-services.js';

const servers = await startServers(readEnv({ DATA_DIR: process.env.DATA_DIR }), () => undefined);
process.send(servers.redisUrl);
setInterval(() => undefined, 1000);
