/** The header of a curl line. */
export const curl = (method: string, path: string, body: unknown): string =>
  `curl -X ${method} ${location.origin}${path} \\\n  -H "X-API-KEY: $ADMIN_KEY" -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(body)}'`;

/** A curl line that sends an event. The admin port has the Application API too, whatever port that has of its own. */
export const eventCurl = (metric = '<metric>'): string =>
  curl('POST', `/application/v1/metrics/${metric}/event`, { user: { id: 'ada', name: 'Ada' }, value: 1 });
