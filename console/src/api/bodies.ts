/** The header of a curl line. */
export const curl = (method: string, path: string, body: unknown): string =>
  `curl -X ${method} ${location.origin}${path} \\\n  -H "X-API-KEY: $LAUREL_KEY" -H "Content-Type: application/json" \\\n  -d '${JSON.stringify(body)}'`;

/** A curl line that sends an event. Uses the admin port, which also serves the Application API. */
export const eventCurl = (metric = '<metric>'): string =>
  curl('POST', `/application/v1/metrics/${metric}/event`, { user: { id: 'ada', name: 'Ada' }, value: 1 });
