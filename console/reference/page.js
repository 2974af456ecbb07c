// Shows this port's own OpenAPI document; the attributes keep the viewer from asking anybody else for anything.
const dark = matchMedia('(prefers-color-scheme: dark)').matches;
const viewer = document.createElement('rapi-doc');
const attributes = {
  'spec-url': '/v1/openapi',
  'load-fonts': 'false',
  'regular-font': 'system-ui, sans-serif',
  'mono-font': 'ui-monospace, monospace',
  'render-style': 'focused',
  'show-header': 'false',
  'allow-spec-url-load': 'false',
  'allow-spec-file-load': 'false',
  'allow-server-selection': 'false',
  'show-method-in-nav-bar': 'as-colored-text',
  'use-path-in-nav-bar': 'false',
  'nav-item-spacing': 'compact',
  'schema-style': 'table',
  'schema-description-expanded': 'true',
  'default-schema-tab': 'schema',
  'persist-auth': 'false',
  theme: dark ? 'dark' : 'light',
  'bg-color': dark ? '#15181b' : '#ffffff',
  'text-color': dark ? '#d7dcdf' : '#1c2226',
  'primary-color': dark ? '#63b894' : '#2f7d5b',
};
for (const [name, value] of Object.entries(attributes)) viewer.setAttribute(name, value);
document.body.append(viewer);
