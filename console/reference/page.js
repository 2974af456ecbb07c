// Shows this port's own OpenAPI document; the attributes keep the viewer from asking anybody else for anything.
import { snippetsOf } from './snippets.js';

const dark = matchMedia('(prefers-color-scheme: dark)').matches;
const viewer = document.createElement('rapi-doc');
const attributes = {
  'spec-url': '/v1/openapi',
  'load-fonts': 'false',
  'regular-font': 'system-ui, sans-serif',
  'mono-font': 'ui-monospace, monospace',
  // Where there is no room for the navigation everything is in one list.
  'render-style': matchMedia('(min-width: 768px)').matches ? 'focused' : 'view',
  'show-header': 'false',
  'info-description-headings-in-navbar': 'true',
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
  'nav-bg-color': dark ? '#101312' : '#f6f7f6',
  'nav-text-color': dark ? '#c3ccc8' : '#3d4743',
  'nav-hover-bg-color': dark ? '#202625' : '#e9edeb',
  'nav-accent-color': dark ? '#5fbb92' : '#22704f',
  'show-components': 'false',
  'bg-color': dark ? '#171b1a' : '#ffffff',
  'text-color': dark ? '#e4e9e7' : '#18201d',
  'primary-color': dark ? '#5fbb92' : '#22704f',
};
for (const [name, value] of Object.entries(attributes)) viewer.setAttribute(name, value);

viewer.addEventListener('before-render', ({ detail: { spec } }) => {
  spec.info.version = `Laurel ${spec.info['x-laurel-version']} · interface ${spec.info.version}`;
  for (const [path, methods] of Object.entries(spec.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const of = { method, path, operation, components: spec.components, origin: location.origin };
      operation['x-codeSamples'] = snippetsOf(of);
    }
});

// The viewer would keep the key in localStorage, for good and for every tab. Here it lasts as long as the tab.
const SCHEME = 'ApiKeyAuth';
const KEY = 'laurel-reference-key';
const scheme = () => viewer.resolvedSpec?.securitySchemes?.find((one) => one.securitySchemeId === SCHEME);
viewer.addEventListener('spec-loaded', () => {
  const key = sessionStorage.getItem(KEY);
  if (key !== null) viewer.setApiKey(SCHEME, key);
  // The viewer has no event for a key that is set or removed. Its own handlers run before these.
  viewer.addEventListener('click', () => {
    const given = scheme()?.finalKeyValue;
    if (given) sessionStorage.setItem(KEY, given);
    else sessionStorage.removeItem(KEY);
  });
});

document.body.append(viewer);
